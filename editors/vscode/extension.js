// The client of `nessie lsp`: starts the command of the settings, and hands everything to it.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate() {
  const [command, ...args] = workspace.getConfiguration("nesl").get("command");
  client = new LanguageClient("nesl", "NESL", { command, args }, { documentSelector: [{ language: "nesl" }] });
  return client.start();
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
