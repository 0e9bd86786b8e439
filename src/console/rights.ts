import { type Role, roles } from '../config/roles.ts';

export { type Role, roles };

/** The role that each route takes; `anyone`: no session. A route that is not listed cannot be added. */
export const rights = {
  'GET /assets/console.css': 'anyone',
  'POST /sign-in': 'anyone',
  'GET /sign-in/start': 'anyone',
  'GET /sign-in/callback': 'anyone',
  'POST /sign-out': 'viewer',
  'GET /assets/console.js': 'viewer',
  'GET /assets/charts.js': 'viewer',
  'GET /assets/chart-library.js': 'viewer',
  'GET /assets/icon.svg': 'viewer',

  'GET /health': 'viewer',
  'GET /': 'viewer',
  'GET /rejections': 'viewer',
  'POST /test-callback': 'operator',
  'GET /deliveries': 'viewer',
  'GET /deliveries/:id': 'viewer',
  'POST /deliveries/:id/personal': 'privacy',
  'GET /records/:family': 'viewer',
  'POST /records/:family/personal': 'privacy',
  'GET /search': 'viewer',
  'GET /failed': 'viewer',
  'POST /replay/preview': 'operator',
  'POST /replay': 'operator',
  'GET /quarantine': 'viewer',
  'GET /quarantine/:id': 'viewer',
  'POST /quarantine/preview': 'operator',
  'POST /quarantine/replay': 'operator',
  'POST /quarantine/drop': 'operator',
  'POST /quarantine/:id/personal': 'privacy',
  'POST /quarantine/:id/fields': 'operator',
  'POST /quarantine/:id/body': 'privacy',
  'POST /notes': 'operator',
  'GET /reports': 'viewer',
  'GET /reports/:view': 'viewer',
  'GET /reports/:view/csv': 'viewer',
  'GET /reports/:view/xlsx': 'viewer',
  'POST /reports/:view/personal': 'privacy',
  'POST /reports/:view/csv': 'privacy',
  'POST /reports/:view/xlsx': 'privacy',
  'GET /patients': 'privacy',
  'POST /patients': 'privacy',
  'POST /patients/export': 'privacy',
  'POST /patients/hold': 'privacy',
  'POST /patients/release': 'privacy',
  'POST /patients/erase/preview': 'privacy',
  'POST /patients/erase': 'privacy',
  'POST /patients/uncertain': 'privacy',
  'POST /patients/uncertain/decide': 'privacy',
  'GET /aliases': 'viewer',
  'GET /aliases/options': 'viewer',
  'POST /aliases': 'operator',
  'GET /access-log': 'privacy',
  'GET /sessions': 'privacy',
  'POST /sessions/end': 'privacy',
} as const satisfies Record<string, Role | 'anyone'>;

export type Route = keyof typeof rights;

/** Whether a role may do what takes another. */
export const isEnough = (role: Role, takes: Role): boolean => roles.indexOf(role) >= roles.indexOf(takes);

const patterns = Object.entries(rights).map(([route, takes]) => {
  const [method, path] = route.split(' ') as [string, string];
  return { method, path: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`), takes };
});

/** Whether a signed-in user may open an address of the console, or post a form to it. */
export function may(role: Role, method: 'GET' | 'POST', address: string): boolean {
  const path = address.replace(/^\/console/, '') || '/';
  const takes = patterns.find((one) => one.method === method && one.path.test(path))?.takes;
  return takes !== undefined && (takes === 'anyone' || isEnough(role, takes));
}
