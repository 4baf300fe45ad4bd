// Text of outsiders, shown so that it cannot deceive; the same rule as `synergy/visible_text.py`.

// Control, format, surrogate; ends of lines and paragraphs; letters that are empty.
const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\uffa0\u{e0000}-\u{e0fff}]/gu;

/** The text with invisible characters as escapes, except line feeds and tabs. */
export const visible = (text) => String(text).replace(UNSEEN, escaped);

function escaped(char) {
  if (char === "\n" || char === "\t") return char;
  const code = char.codePointAt(0);
  const [kind, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
  return char === "\r" ? "\\r" : `\\${kind}${code.toString(16).padStart(digits, "0")}`;
}
