// Preloaded into receivers and workers: shifts the wall clock by the seconds in a file, which is read at start and at
// each SIGPROF. Timers and performance.now() are unaffected, as when a clock is stepped.
const { readFileSync } = require('node:fs');

const RealDate = Date;
const realNow = Date.now;
let offsetMs = 0;
const now = () => realNow() + offsetMs;
const read = () => {
  offsetMs = Number(readFileSync(process.env.CLOCK_FILE, 'utf8')) * 1000;
};
read();
process.on('SIGPROF', read);

RealDate.now = now;
globalThis.Date = new Proxy(RealDate, {
  apply: () => new RealDate(now()).toString(),
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length > 0 ? args : [now()], newTarget),
});
