export type Environment = Record<string, string | undefined>;
