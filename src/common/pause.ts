/** A pause that ends early when somebody wakes it, or the signal is aborted. */
export function createPause(signal: AbortSignal) {
  let end = () => {};
  const wake = () => end();
  signal.addEventListener('abort', wake);
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, signal.aborted ? 0 : ms);
      end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  return { pause, wake };
}
