import { commonColumns, type Family } from '../callbacks/families/family.ts';
import { contents, hidden } from '../callbacks/health-contents.ts';
import type { Row } from './read-record.ts';

/** The columns of every row that cannot identify a patient. */
const publicColumns = ['business_id', ...Object.keys(commonColumns).filter((name) => name !== 'extra')];

const mapRow = (row: Row, change: (value: string, name: string) => string): Row =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ? change(value, name) : value]));

export const maskRow = (row: Row, family: Family): Row =>
  mapRow(row, (value, name) => {
    const isPublic = publicColumns.includes(name) || family.fields[name]?.personal === false;
    return isPublic ? value : hidden;
  });

export const hideContents = (row: Row): Row =>
  mapRow(row, (value) => (contents.test(value) ? hidden : value));
