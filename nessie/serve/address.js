// A program in the page's address: compressed, in letters that an address may have. Nobody else is needed to read it.

async function through(bytes, stream) {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

async function packed(text) {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The text, or null if these letters are none. */
async function unpacked(letters) {
  try {
    const bytes = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(await through(bytes, new DecompressionStream("deflate-raw")));
  } catch {
    return null;
  }
}

/** Pairs of names as "a,b;c,d", and back. */
const pairsText = (pairs) => pairs.map((pair) => pair.join(",")).join(";");
const readPairs = (text) => (text ?? "").split(";").map((pair) => pair.split(",")).filter((pair) => pair.length === 2);

/** The sizes in "n=1e8, xs=1000"; null if it is not that. */
function readSizes(text) {
  const found = {};
  for (const part of (text ?? "").split(/[,;]/).map((other) => other.trim()).filter(Boolean)) {
    const [, name, number] = part.match(/^#?([^=\s]+(?:\([^)]*\))?)\s*=\s*([\d._]+(?:[eE]\+?\d+)?)$/) ?? [];
    const size = Number((number ?? "x").replaceAll("_", ""));
    if (!name || !Number.isFinite(size)) return null;
    found[name] = size;
  }
  return found;
}
