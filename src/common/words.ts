/** A name of the database in words. */
export const words = (name: string): string => name.replaceAll('_', ' ');

/** The same, at the beginning of a line. */
export const titled = (name: string): string => name[0]!.toUpperCase() + words(name).slice(1);
