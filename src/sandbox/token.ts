/** The token that a sandbox takes by default: a JWT in form, signed by nobody. */
export const sandboxToken = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJzYW5kYm94In0.sandbox';
