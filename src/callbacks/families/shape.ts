import { z } from 'zod';
import { path } from '../../common/config/addresses.ts';
import { commonColumns, labelGroups } from './family.ts';
import { type Field, type KindName, kinds } from './field.ts';

// Views of the receiver itself, and the metrics' name for no family.
const reserved = ['access_log', 'deliveries', 'quarantine', 'none'];
const reservedColumns = ['business_id', ...Object.keys(commonColumns)];

const name = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,49}$/, 'must be small letters, digits and _, 50 at most')
  .refine((text) => !reserved.includes(text), 'is a name of the receiver itself: choose another');
const column = z
  .string()
  .regex(/^[A-Za-z_]\w{0,62}$/, 'must be letters, digits and _, 63 at most')
  .refine((text) => !reservedColumns.includes(text), 'is a column of every family: choose another')
  // Every object of JavaScript has it.
  .refine((text) => !(text in {}), 'is a name of JavaScript itself: choose another');
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
  sample: z.string().optional(),
  label: z.string().optional(),
});

/** Checks modules in JavaScript as the compiler does. */
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
    key: z.string().optional(),
    changeTime: z.string().optional(),
    dependentFields: lists.optional(),
    title: z.string().optional(),
    labels: z.partialRecord(z.enum(labelGroups), texts).optional(),
    printedNumber: z.string().optional(),
    people: z.strictObject({ names: z.array(z.string()), phones: z.array(z.string()) }).optional(),
    sample: z.record(z.string(), z.unknown()).optional(),
  })
  .superRefine((family, { addIssue }) => {
    const { fields, key, changeTime, printedNumber, dependentFields, labels, people, sample } = family;
    const references: Record<string, [names: (string | undefined)[], kinds: KindName[]]> = {
      key: [[key], ['text', 'integer']],
      changeTime: [[changeTime], ['time']],
      isActionTime: [Object.keys(fields).filter((name) => fields[name]!.isActionTime), ['time']],
      printedNumber: [[printedNumber], []],
      dependentFields: [Object.entries(dependentFields ?? {}).flat(2), []],
      labels: [Object.values(labels ?? {}).flatMap((group) => Object.keys(group ?? {})), []],
      people: [Object.values(people ?? {}).flatMap((paths) => paths.map((path) => path.split('.')[0])), []],
      sample: [Object.keys(sample ?? {}).filter((name) => name !== 'transaction_id'), []],
    };
    const issue = (message: string, ...place: string[]) => addIssue({ code: 'custom', path: place, message });
    for (const [place, [names, allowed]] of Object.entries(references))
      for (const name of names) {
        if (name === undefined) continue;
        if (!Object.hasOwn(fields, name)) issue(`names ${name}, which is not among its fields`, place);
        else if (allowed.length > 0 && !allowed.includes(fields[name]!.kind))
          issue(`must be of the kind ${allowed.join(' or ')}, which ${name} is not`, place);
      }
    const names = Object.entries(fields).flatMap(([name, { alias }]) => [name, alias ?? []].flat());
    const twice = names.find((name, at) => names.indexOf(name) < at);
    if (twice) issue(`have two that are called ${twice}`, 'fields');
  });
