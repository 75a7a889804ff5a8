/** A new key is made in the place of the old one, with a new password and a new code; a passkey that has opened the old one opens the new one, too. */

import { replaceKey } from "../rotation.js";
import { newPassword, show } from "./key.js";

export function begin(question) {
  const { form } = question;
  for (const part of document.querySelectorAll("[data-edna-with-script]")) part.hidden = false;
  for (const part of document.querySelectorAll("[data-edna-without-script]")) part.hidden = true;
  // Of an account that logs in by other means, the site asks for none; nor is there need of one where a passkey opens the new key, too.
  const fields = ["new_password", "again"].map((name) => question.secrets[name]).filter(Boolean);
  for (const field of fields) field.required = false;
  const password = (byPasskey) => (fields.length ? newPassword(form, { isOptional: byPasskey }) : null);
  const work = async ({ sodium, key, passkey = null }) => {
    const [identifier, chosen] = [question.identifier(), password(passkey !== null)];
    await question.words(key);
    question.says("walking");
    const ways = { identifier, password: chosen, passkeySecret: passkey, stretch: question.stretch };
    const { code } = await replaceKey(sodium, key, ways);
    show(question, sodium, code);
  };
  question.ask(work, { check: ({ byPasskey }) => question.identifier() && password(byPasskey) });
}
