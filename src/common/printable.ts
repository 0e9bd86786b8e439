/**
 * Text that is safe to print on a terminal: control characters and bidirectional controls are escaped as in JSON
 * (`\u001b`). New lines stay.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
