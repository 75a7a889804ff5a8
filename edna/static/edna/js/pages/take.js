/** What is somebody's, as a file that is written here: readable, or as it is sealed. */

import { exportData } from "../export.js";
import { sealedFile } from "../sealed-file.js";
import { walk } from "../graph.js";
import { parseReceipt } from "../locator.js";
import { Mistake, receiptsIn } from "./question.js";
import { save } from "./files.js";

export function begin(question) {
  const { form, secrets } = question;
  const isLocked = () => form.elements.kind.value === "locked";
  const check = () => {
    if (isLocked() && secrets.password.value) throw new Mistake("code");
  };
  const work = async ({ sodium, key }) => {
    question.says("walking");
    await question.words(key);
    const receipts = receiptsIn(form);
    const graph = await walk(sodium, key, { locators: receipts.map((text) => parseReceipt(sodium, text).locator) });
    if (isLocked()) {
      const code = secrets.recovery_code.value.trim() || null;
      save(await sealedFile(sodium, key, graph, { code }), { name: "my-locked-data.json", type: "application/json" });
    } else {
      const document = await exportData(sodium, key, { graph, receipts });
      save(JSON.stringify(document, null, 2), { name: "my-data.json", type: "application/json" });
    }
    question.forget();
    question.done("taken");
  };
  question.ask(work, { check });
}
