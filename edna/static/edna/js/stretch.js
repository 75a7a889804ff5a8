/** Argon2id in a worker, so that the page stays live. The worker ends with each password, and its memory with it. */

/** The slot secret of a password: `{salt, opslimit, memlimitBytes}` say how. */
export function inWorker(password, { salt, opslimit, memlimitBytes }) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./stretch-worker.js", import.meta.url), { type: "module" });
    const end = (settle, value) => {
      worker.terminate();
      settle(value);
    };
    worker.onmessage = ({ data }) => ("secret" in data ? end(resolve, data.secret) : end(reject, new RangeError(data.message)));
    worker.onerror = () => end(reject, new Error("The worker that stretches passwords did not start."));
    worker.postMessage({ password, salt, opslimit, memlimitBytes });
  });
}
