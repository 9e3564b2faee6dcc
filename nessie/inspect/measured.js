// What running took, beside the prediction (nessie profile --html). A fused kernel is one piece of work: its time belongs
// to the set of all places that it computes. They light up together, and none of them gets a part of it.

/** The measured kernels that compute something in focus. */
function measuredOf(data, focus) {
  const nodes = new Set(focus?.nodes ?? []);
  return (data.measured?.kernels ?? []).filter((kernel) => kernel.nodes.some((id) => nodes.has(id)));
}

/** The expressions of the source that these kernels compute, by number. */
function placesOf(data, kernels) {
  return union(kernels.flatMap((kernel) => kernel.nodes.map((id) => data.nodes[id].spans)));
}

/** The kernel's part of the time that all kernels took. */
function shareOf(data, kernel) {
  const all = data.measured.kernels.reduce((sum, other) => sum + (other.seconds ?? 0), 0);
  return all ? (kernel.seconds ?? 0) / all : 0;
}

function kernelText(data, kernel) {
  const { name, seconds, predicted, bytes } = kernel;
  const count = placesOf(data, [kernel]).length;
  const places = count === 1 ? "" : `, all ${countText(count, "place")} together`;
  const beside = (shown, other) => (predicted ? `${shown} (predicted ${other})` : shown);
  const moved = `moved ${beside(bytesText(bytes), bytesText(predicted?.bytes ?? 0))}`;
  if (seconds === null) return `${name}${places}: ${moved}`;
  const share = `${Math.round(100 * shareOf(data, kernel))} % of all kernels' time`;
  return `${name}${places}: ${beside(timeText(1e9 * seconds), timeText(1e9 * (predicted?.seconds ?? 0)))}, ${share}, ${moved}`;
}

/** What the kernels of the focus took, those that took longest first; empty where nothing was measured. */
function measuredText(data, focus) {
  const kernels = measuredOf(data, focus).sort((one, other) => (other.seconds ?? 0) - (one.seconds ?? 0));
  const more = kernels.length > 2 ? [`and ${countText(kernels.length - 2, "kernel")} more`] : [];
  return [...kernels.slice(0, 2).map((kernel) => kernelText(data, kernel)), ...more].join("; ");
}

/** The marks of the source, by place, that belong to the set of the focus without being in it. */
function together(data, marks, focus) {
  const wanted = new Set(placesOf(data, measuredOf(data, focus)));
  return marks.flatMap((mark, place) =>
    (mark.spans.some((number) => wanted.has(number) && !focus.spans.includes(number)) ? [place] : []));
}

/** Light up the rest of the set in the source, and, at first, how much time each place has a share in. */
function lightTogether(data, stage, focus) {
  if (!data.measured) return;
  if (!stage.joined) warm(data, stage);
  for (const box of stage.joined) box.classList.remove("together");
  stage.joined = focus ? together(data, stage.marks, focus).map((place) => stage.elements[place]) : [];
  for (const box of stage.joined) box.classList.add("together");
}

/** Tint each place by the greatest share of the kernels that compute it: it is the share of their whole sets. */
function warm(data, stage) {
  stage.joined = [];
  for (const kernel of data.measured.kernels) {
    const places = new Set(placesOf(data, [kernel]));
    stage.marks.forEach((mark, place) => {
      if (!mark.spans.some((number) => places.has(number))) return;
      const box = stage.elements[place];
      const share = Math.max(shareOf(data, kernel), Number(box.style.getPropertyValue("--share") || 0));
      box.style.setProperty("--share", share);
      box.classList.add("warm");
    });
  }
}
