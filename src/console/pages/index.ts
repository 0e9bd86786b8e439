import type { Page } from '../page.ts';
import { callbacks } from './callbacks.tsx';
import { health } from './health.tsx';
import { hours } from './hours.tsx';
import { listPages } from './lists.tsx';
import { messages } from './messages.tsx';
import { names } from './names.tsx';
import { patients } from './patients.tsx';
import { records } from './records.tsx';
import { search } from './search.tsx';
import { today } from './today.tsx';

export const pages: readonly Page[] = [
  today,
  listPages,
  hours,
  patients,
  search,
  records,
  callbacks,
  messages,
  health,
  names,
];
