import { type Role, roles } from '../config/roles.ts';

export { type Role, roles };

/** The least role for each route, such as `GET /deliveries/:id`; `anyone`: no session. */
export type Rights = Readonly<Record<string, Role | 'anyone'>>;

/** Whether a role may do what takes another. */
export const isEnough = (role: Role, takes: Role): boolean => roles.indexOf(role) >= roles.indexOf(takes);

/** Whether a signed-in user may open an address of the console, or post a form to it. */
export type May = (role: Role, method: 'GET' | 'POST', address: string) => boolean;

export function createMay(rights: Rights): May {
  const patterns = Object.entries(rights).map(([route, takes]) => {
    const [method, path] = route.split(' ') as [string, string];
    return { method, path: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`), takes };
  });
  return (role, method, address) => {
    const path = address.replace(/^\/console/, '') || '/';
    const takes = patterns.find((one) => one.method === method && one.path.test(path))?.takes;
    return takes !== undefined && (takes === 'anyone' || isEnough(role, takes));
  };
}
