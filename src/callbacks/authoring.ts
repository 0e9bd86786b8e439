// `webhook-receiver/family`: what a module of the folder FAMILIES is written with.
export type { Callback, CallbackOf } from './callback.ts';
export type { Decimal } from './exact-json.ts';
export { defineFamily, type EventClass, type Family } from './families/family.ts';
export {
  actionTime,
  amount,
  clinicId,
  code,
  codes,
  doctorId,
  type Field,
  idOf,
  integer,
  type KindName,
  nested,
  notPersonal,
  optional,
  patientId,
  patientName,
  patientPhone,
  personName,
  text,
  time,
  untyped,
} from './families/field.ts';
export type { RowOf } from './families/row.ts';
