import { createRequire } from 'node:module';

export interface Resource {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
}

interface Model {
  validate: () => void;
}

const load = createRequire(__filename);

function packageOf({ apiVersion }: Resource): string {
  if (apiVersion.startsWith('keda.sh/')) return '@kubernetes-models/keda';
  if (apiVersion.startsWith('postgresql.cnpg.io/')) return '@kubernetes-models/cloudnative-pg';
  return 'kubernetes-models';
}

/**
 * What a resource has that its API does not allow: wrong or missing values, and the paths of properties that the API does
 * not know. The validators ignore these, but they read every property that they know: what they never read is unknown.
 */
export function findFaults(resource: Resource): string[] {
  const { apiVersion, kind } = resource;
  const models = load(`${packageOf(resource)}/${apiVersion}/${kind}`) as Record<
    string,
    new (
      data: object,
    ) => Model
  >;
  const model = new models[kind]!(resource);
  const read = new Set<string>();
  try {
    model.validate.call(recordReads(model, read));
  } catch (error) {
    return [(error as Error).message];
  }
  return pathsOf(resource).filter((path) => !read.has(path));
}

function recordReads<T>(value: T, read: Set<string>, path = ''): T {
  if (typeof value !== 'object' || value === null) return value;
  return new Proxy(value, {
    get(target, key) {
      const child = Reflect.get(target, key);
      if (typeof key === 'symbol' || !Object.hasOwn(target, key)) return child;
      read.add(`${path}/${key}`);
      return recordReads(child, read, `${path}/${key}`);
    },
  });
}

function pathsOf(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => [
    `${path}/${key}`,
    ...pathsOf(child, `${path}/${key}`),
  ]);
}
