/** Raised when something can be held nowhere now; the sender has to send it again. */
export class Unavailable extends Error {
  constructor(cause: unknown) {
    super('No store can hold the delivery now.', { cause });
    this.name = 'Unavailable';
  }
}
