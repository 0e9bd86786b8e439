/** @returns what is printed meanwhile */
export async function captureOutput(run: () => Promise<unknown>): Promise<string> {
  let output = '';
  const writes = [process.stdout, process.stderr].map((stream) =>
    jest.spyOn(stream, 'write').mockImplementation((text) => {
      output += text;
      return true;
    }),
  );
  await run().finally(() => {
    for (const write of writes) write.mockRestore();
  });
  return output;
}
