import type { MessageGroup } from '../message-groups.ts';

/**
 * Text that says something and does nothing to a terminal: control characters, and those that turn the direction
 * of writing, are shown as JSON writes them (`\u001b`). New lines stay.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A group of equal messages in one line. */
export const describeGroup = ({ message, count, example }: MessageGroup) =>
  printable(`${message} (${count}, for example ${example})`);
