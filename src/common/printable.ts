import Table from 'cli-table3';
import type { MessageGroup } from './message-groups.ts';

/**
 * Text that is safe to print on a terminal: control characters and bidirectional controls are escaped as in JSON
 * (`\u001b`). New lines stay.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A table of printable texts. */
export function tableOf(head: readonly string[], rows: readonly string[][]): string {
  const table = new Table({ head: head.map(printable), style: { head: [], border: [] } });
  table.push(...rows.map((row) => row.map(printable)));
  return table.toString();
}

/** A group of equal messages in one line. */
export const describeGroup = ({ message, count, example }: MessageGroup) =>
  printable(`${message} (${count}, for example ${example})`);
