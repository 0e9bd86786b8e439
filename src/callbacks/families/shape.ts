import { z } from 'zod';
import { path } from '../../common/config/addresses.ts';
import { commonColumns, shownGroups } from './family.ts';
import { type Field, type KindName, kinds } from './field.ts';

// Views of the receiver's own, and what the metrics call no family.
const reserved = ['access_log', 'deliveries', 'quarantine', 'none'];
const reservedColumns = ['business_id', ...Object.keys(commonColumns)];

const name = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,49}$/, 'must be small letters, digits and _, 50 at most')
  .refine((text) => !reserved.includes(text), 'is a name of the receiver itself: choose another');
const column = z
  .string()
  .regex(/^[A-Za-z_]\w{0,62}$/, 'must be letters, digits and _, 63 at most')
  .refine((text) => !reservedColumns.includes(text), 'is a column of every family: choose another');
const texts = z.record(z.string(), z.string());
const lists = z.record(z.string(), z.array(z.string()));
const isFunction = (value: unknown) => typeof value === 'function';

const field = z.strictObject({
  kind: z.enum(Object.keys(kinds) as [KindName]),
  isActionTime: z.literal([true, 'planned']).optional(),
  alias: z.string().min(1).optional(),
  fromEnvelope: z.custom<Field['fromEnvelope']>(isFunction, 'must be a function').optional(),
  optional: z.literal(true).optional(),
  personal: z.literal(false).optional(),
  refersTo: z.string().optional(),
  meanings: texts.optional(),
});

/** What the compiler checks of a `defineFamily`, for modules that are JavaScript. */
export const familySchema = z
  .strictObject({
    name,
    events: z
      .record(z.string().min(1).max(200), z.enum(['created', 'updated', 'deleted']))
      .refine((events) => Object.keys(events).length > 0, 'must list an event'),
    path: z.strictObject({
      variable: z
        .string()
        .regex(/^[A-Z][A-Z0-9_]*_PATH$/, 'must be such as INVOICES_PATH')
        .optional(),
      default: z.array(path).min(1, 'must have a path'),
      isBasic: z.literal(true).optional(),
    }),
    table: name,
    fields: z.record(column, field),
    identifiedBy: z.string().optional(),
    orderedBy: z.string().optional(),
    facts: lists.optional(),
    title: z.string().optional(),
    shown: z.partialRecord(z.enum(Object.keys(shownGroups) as [keyof typeof shownGroups]), texts).optional(),
    printed: z.string().optional(),
    headline: z.array(z.string()).optional(),
    people: z.strictObject({ names: z.array(z.string()), phones: z.array(z.string()) }).optional(),
  })
  .superRefine((family, { addIssue }) => {
    const { fields, identifiedBy, orderedBy, printed, headline, facts, shown, people } = family;
    const named: Record<string, [(string | undefined)[], KindName[]]> = {
      identifiedBy: [[identifiedBy], ['text', 'integer']],
      orderedBy: [[orderedBy], ['time']],
      isActionTime: [Object.keys(fields).filter((one) => fields[one]!.isActionTime), ['time']],
      printed: [[printed], []],
      headline: [headline ?? [], []],
      facts: [Object.entries(facts ?? {}).flat(2), []],
      shown: [Object.values(shown ?? {}).flatMap((group) => Object.keys(group ?? {})), []],
      people: [Object.values(people ?? {}).flatMap((paths) => paths.map((one) => one.split('.')[0])), []],
    };
    const issue = (message: string, ...place: string[]) => addIssue({ code: 'custom', path: place, message });
    for (const [place, [names, allowed]] of Object.entries(named))
      for (const one of names) {
        if (one === undefined) continue;
        if (!Object.hasOwn(fields, one)) issue(`names ${one}, which is not among its fields`, place);
        else if (allowed.length > 0 && !allowed.includes(fields[one]!.kind))
          issue(`must be of the kind ${allowed.join(' or ')}, which ${one} is not`, place);
      }
    const keys = Object.entries(fields).flatMap(([one, { alias }]) => [one, alias ?? []].flat());
    const twice = keys.find((one, at) => keys.indexOf(one) < at);
    if (twice) issue(`have two that are called ${twice}`, 'fields');
  });
