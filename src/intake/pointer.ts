/** A JSON pointer (RFC 6901); parts that no documented name could have are left out of it. */
export function pointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${name(String(part))}`).join('');
}

// A key is part of the body too: only what looks like a field's name is repeated in an answer.
function name(part: string): string {
  return /^(?:[A-Za-z_]\w{0,63}|\d{1,6})$/.test(part) ? part : '…';
}
