import { createInterface } from 'node:readline';

export class InputEnded extends Error {
  override readonly name = 'InputEnded';
}

/** Asks questions on a terminal; answers may also come from a pipe, one per line. */
export function openPrompt(input: NodeJS.ReadableStream, output: NodeJS.WritableStream) {
  const lines = createInterface({ input, output });
  // Not question(): it loses lines of a pipe that arrive between two questions.
  const answers = lines[Symbol.asyncIterator]();
  return {
    /** The answer, trimmed; raises InputEnded. */
    async ask(question: string): Promise<string> {
      lines.setPrompt(`${question}: `);
      lines.prompt();
      const { value, done } = await answers.next();
      if (done) throw new InputEnded('the input ended before the registration was complete');
      return value.trim();
    },
    close: () => lines.close(),
  };
}
