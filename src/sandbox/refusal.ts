import type { Response } from 'express';

/** Answers an error. Its shape is made up: section 7 shows none. */
export function refuse(response: Response, status: number, code: string, message: string): void {
  response.status(status).json({ error: { code, message } });
}
