import { createInterface } from 'node:readline';

/** The input ended before the question was answered. */
export class InputEnded extends Error {
  override readonly name = 'InputEnded';
}

/** Asks questions on a terminal; answers may also come from a pipe, a line each. */
export function openDialogue(input: NodeJS.ReadableStream, output: NodeJS.WritableStream) {
  const lines = createInterface({ input, output });
  // Not question(): it loses the lines of a pipe that arrive between two questions.
  const answers = lines[Symbol.asyncIterator]();
  return {
    /** The answer without outer blanks; raises InputEnded. */
    async ask(question: string): Promise<string> {
      lines.setPrompt(`${question}: `);
      lines.prompt();
      const { value, done } = await answers.next();
      if (done) throw new InputEnded('the input ended before the registration did');
      return value.trim();
    },
    close: () => lines.close(),
  };
}
