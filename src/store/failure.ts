/** Raises an error with `failureCode`, so that a statement that finds something wrong is rolled back. */
export const failure = '(select null::text from (values (1), (2)) as two_rows)';

/** The SQLSTATE of `failure`: nothing else in our statements has it. */
export const failureCode = '21000';
