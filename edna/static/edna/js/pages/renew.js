/** A new key is made in the place of the old one, with a new password and a new code; a passkey that has opened the old one opens the new one, too. */

import { replaceKey } from "../rotation.js";
import { newPassword, show } from "./key.js";

export function begin(question) {
  const { form } = question;
  for (const part of document.querySelectorAll("[data-edna-with-script]")) part.hidden = false;
  // Of an account that logs in by other means, the site asks for none.
  const password = () => (form.querySelector("[data-edna-secret=new_password]") ? newPassword(form) : null);
  const work = async ({ sodium, key, passkey = null }) => {
    const [identifier, chosen] = [question.identifier(), password()];
    await question.words(key);
    question.says("walking");
    const ways = { identifier, password: chosen, passkeySecret: passkey, stretch: question.stretch };
    const { code } = await replaceKey(sodium, key, ways);
    show(question, sodium, code);
  };
  question.ask(work, { check: () => question.identifier() && password() });
}
