import type { Family } from '../families/index.ts';

// The names of the document's schemas.
export const requestOf = (operation: string) => `${pascal(operation)}Request`;
export const responseOf = (operation: string) => `${pascal(operation)}Response`;
export const callbackOf = (family: Family) => `${pascal(family.name)}Callback`;
export const dataOf = (family: Family) => `${pascal(family.name)}Data`;

/** The reference to a schema of the document. */
export const schemaRef = (name: string) => ({ $ref: `#/components/schemas/${name}` });

function pascal(name: string): string {
  return name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
