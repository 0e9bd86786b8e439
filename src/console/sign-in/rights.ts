import { type Role, roles } from '../../common/config/value-types.ts';

export { type Role, roles };

/** The least role that a route takes; `anyone`: no session. */
export type Takes = Role | 'anyone';

/** Whether a signed-in user may open an address of the console, or post a form to it. */
export type May = (method: 'GET' | 'POST', address: string) => boolean;

/** What the routes take, of those that were added. */
export function createRights() {
  const rights: { method: string; path: RegExp; takes: Takes }[] = [];
  /** What a route takes; undefined: there is none. */
  const takenBy = (method: string, address: string): Takes | undefined => {
    const path = address.replace(/^\/console/, '') || '/';
    return rights.find((one) => one.method === method && one.path.test(path))?.takes;
  };
  return {
    takenBy,
    add: (method: string, path: string, takes: Takes) =>
      void rights.push({ method, path: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`), takes }),
  };
}
