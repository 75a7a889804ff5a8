/** Lets a test ask, and tells it what the policy of the page refused. */

import { run } from "./operations.mjs";

globalThis.refused = [];
document.addEventListener("securitypolicyviolation", (event) => globalThis.refused.push(event.violatedDirective));
globalThis.run = run;
