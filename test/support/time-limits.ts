// Instead of those of src/common/time-limits.ts: the tests share a machine that may be slow, and a commit that takes longer than a
// second there is not what they are about. Processes that they start have the real limits.
export const databaseTimeoutMs = 5_000;
export const redisTimeoutMs = 6_000;
export const redisCommandTimeoutMs = 8_000;
// Less than the eight seconds of a check of the doctor, which would otherwise give up before it.
export const connectTimeoutMs = 5_000;
export const readinessTimeoutMs = 10_000;
