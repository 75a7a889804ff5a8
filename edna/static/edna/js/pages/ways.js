/** Another password for the key, or a passkey, in the place of the former one: by any way that opens it. */

import { makePasskey } from "../passkey.js";
import { goTo } from "./focus.js";
import { newPassword } from "./key.js";

export function begin(question, name) {
  const { form } = question;
  const acts = {
    async password({ key }) {
      await key.changePassword({ identifier: question.identifier(), password: newPassword(form), stretch: question.stretch });
    },
    async passkey({ sodium, key }) {
      question.says("sending");
      await key.replaceSlot("passkey", await makePasskey(sodium, { name: question.identifier() }));
    },
  };
  const checks = { password: () => question.identifier() && newPassword(form), passkey: () => {} };
  const work = async (opened) => {
    await question.words(opened.key); // of another account, it would change that one's ways
    await acts[name](opened);
    question.forget();
    form.hidden = true;
    const done = document.querySelector("[data-edna-done]");
    done.hidden = false;
    goTo(done.querySelector("p"));
  };
  question.ask(work, { check: checks[name] });
}
