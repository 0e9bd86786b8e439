import { createHmac } from 'node:crypto';

/** The value of the signature header, implemented independently of the code that verifies it. */
export function sign(key: string, body: string | Buffer, seconds = Math.floor(Date.now() / 1000)): string {
  return `t=${seconds},v1=${createHmac('sha256', key).update(`${seconds}.`).update(body).digest('hex')}`;
}
