import { type Role, roles } from '../config/roles.ts';

export { type Role, roles };

/** The least role that a route takes; `anyone`: no session. */
export type Takes = Role | 'anyone';

/** Whether a role may do what takes another. */
export const isEnough = (role: Role, takes: Role): boolean => roles.indexOf(role) >= roles.indexOf(takes);

export class MissingRole extends Error {
  constructor(takes: Role, role: Role | undefined) {
    const enough = roles.slice(roles.indexOf(takes)).join(' or ');
    super(`This takes the role ${enough}. Your role is ${role ?? 'none'}.`);
  }
}

/** Whether a signed-in user may open an address of the console, or post a form to it. */
export type May = (role: Role, method: 'GET' | 'POST', address: string) => boolean;

/** What the routes take, of those that were added. */
export function createRights() {
  const rights: { method: string; path: RegExp; takes: Takes }[] = [];
  /** What a route takes; undefined: there is none. */
  const takenBy = (method: string, address: string): Takes | undefined => {
    const path = address.replace(/^\/console/, '') || '/';
    return rights.find((one) => one.method === method && one.path.test(path))?.takes;
  };
  const may: May = (role, method, address) => {
    const takes = takenBy(method, address);
    return takes !== undefined && (takes === 'anyone' || isEnough(role, takes));
  };
  return {
    may,
    takenBy,
    add: (method: string, path: string, takes: Takes) =>
      void rights.push({ method, path: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`), takes }),
  };
}

export type Rights = ReturnType<typeof createRights>;
