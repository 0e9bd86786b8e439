import { z } from 'zod';
import { path } from '../../common/config/addresses.ts';
import { commonColumns } from './family.ts';
import { type KindName, kinds } from './field.ts';

// Views of the receiver itself, and the metrics' name for no family.
const reserved = ['access_log', 'deliveries', 'quarantine', 'none'];
const allKinds = Object.keys(kinds) as [KindName];
const reservedColumns = ['business_id', ...Object.keys(commonColumns)];

const name = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,49}$/, 'must be small letters, digits and _, 50 at most')
  .refine((text) => !reserved.includes(text), 'is a name of the receiver itself: choose another');
const column = z
  .string()
  .regex(/^[A-Za-z_]\w{0,62}$/, 'must be letters, digits and _, 63 at most')
  // Every object of JavaScript has some names.
  .refine(
    (text) => !(text in {}) && !reservedColumns.includes(text),
    'is a column of every family, or a name of JavaScript itself: choose another',
  );
const variable = z.string().regex(/^[A-Z][A-Z0-9_]*_PATH$/, 'must be such as INVOICES_PATH');

/** What tables, indexes and routes are made of. The compiler checks all else of a module, in TypeScript or with `// @ts-check`. */
export const familySchema = z
  .strictObject({
    name,
    events: z
      .record(z.string().min(1).max(200), z.enum(['created', 'updated', 'deleted']))
      .refine((events) => Object.keys(events).length > 0, 'must list an event'),
    path: z.looseObject({ variable: variable.optional(), default: z.array(path).min(1, 'must have a path') }),
    table: name,
    fields: z.record(column, z.looseObject({ kind: z.enum(allKinds) })),
    key: z.string().optional(),
    changeTime: z.string().optional(),
    printedNumber: z.string().optional(),
    people: z.object({ names: z.array(z.string()), phones: z.array(z.string()) }).optional(),
    dependentFields: z.unknown().optional(),
    title: z.unknown().optional(),
    labels: z.unknown().optional(),
    sample: z.unknown().optional(),
  })
  .superRefine(({ fields, key, changeTime, printedNumber, people }, { addIssue }) => {
    const requireKind = (
      member: string,
      field: string | undefined,
      allowed: readonly string[] = allKinds,
    ) => {
      if (field === undefined || allowed.includes(fields[field]?.kind ?? '')) return;
      const message = `must be a field of the kind ${allowed.join(' or ')}, which ${field} is not`;
      addIssue({ code: 'custom', path: [member], message });
    };
    requireKind('key', key, ['text', 'integer']);
    requireKind('changeTime', changeTime, ['time']);
    requireKind('printedNumber', printedNumber);
    for (const path of Object.values(people ?? {}).flat()) requireKind('people', path.split('.')[0]);
  });
