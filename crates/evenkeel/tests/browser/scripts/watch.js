// Runs before the page's own scripts: marks when an event came and when the frame after a change was
// made, and keeps what the content security policy forbade.
globalThis.violations = [];
addEventListener("securitypolicyviolation", (event) => violations.push(`${event.violatedDirective} ${event.blockedURI}`));

const Stream = EventSource;
globalThis.EventSource = class extends Stream {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", () => performance.mark("event"));
  }
};

const mark = performance.mark.bind(performance);
performance.mark = (name, ...given) => {
  // After the callbacks of a frame comes its layout and paint, and then the next message.
  const framed = () => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => mark("frame");
    port2.postMessage(null);
  };
  if (name === "drawn") requestAnimationFrame(framed);
  return mark(name, ...given);
};
