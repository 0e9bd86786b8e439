import fc from 'fast-check';
import type { Callback } from '../../../src/sandbox/history.ts';
import { type AppointmentBook, appointmentBook } from '../../../src/sandbox/platform/book.ts';

const start = Date.now() - 7 * 24 * 3_600_000;

/** The status of each appointment in the last callback about it, and when it was sent. */
function lastStatuses(sent: Iterable<Callback>) {
  const statuses = new Map<string, unknown>();
  for (const { event, envelope } of sent) {
    if (!/^appointment\.(created|updated|statuschange)$/.test(event)) continue;
    statuses.set(String(envelope.data.appointment_id), envelope.data.status);
  }
  return statuses;
}

const idsOf = ({ records }: AppointmentBook) => [...records.appointments.keys()];

const options = fc
  .record({
    seed: fc.integer(),
    ordinary: fc.nat(40),
    unsent: fc.nat(20),
    differing: fc.nat(20),
    rescheduled: fc.nat(10),
    spelling: fc.constantFrom('contract', 'platform', 'mixed'),
  })
  .map(({ ordinary, ...rest }) => ({
    ...rest,
    start,
    appointments: ordinary + rest.unsent + rest.differing + 2 * rest.rescheduled,
  }));

it('has exactly as many appointments that are never sent, differ and are rescheduled as it was asked for', () => {
  fc.assert(
    fc.property(options, (options) => {
      const book = appointmentBook(options);
      const sent = lastStatuses(book.past());
      const all = [...book.records.appointments.values()];
      expect(all).toHaveLength(options.appointments);
      expect(idsOf(book).filter((id) => !sent.has(id))).toHaveLength(options.unsent);
      const differing = all.filter(({ appointment_id, status }) => {
        const last = sent.get(String(appointment_id));
        return last !== undefined && last !== status;
      });
      expect(differing).toHaveLength(options.differing);

      const moved = all.filter(({ next_aid }) => next_aid !== undefined);
      expect(moved).toHaveLength(options.rescheduled);
      for (const { appointment_id, next_aid, patient_id, status } of moved) {
        const next = book.records.appointments.get(String(next_aid));
        expect(next).toMatchObject({ prev_aids: [appointment_id], patient_id });
        expect(status).toMatch(/^RE[SD]?$/);
      }
    }),
    { numRuns: 50 },
  );
});

it('has no event and no visit after the present, and its days are those since the start', () => {
  const book = appointmentBook({ seed: 1, start, appointments: 500 });
  const times = Array.from(book.past(), ({ envelope: { event_time } }) =>
    event_time > 1e11 ? event_time : event_time * 1000,
  );
  times.push(
    ...Array.from(book.records.appointments.values(), ({ start_time }) => Number(start_time) * 1000),
  );
  expect(Math.min(...times)).toBeGreaterThanOrEqual(start - 1000);
  expect(Math.max(...times)).toBeLessThanOrEqual(Date.now());
});

it('goes on in the present: each status of the records is that of the last callback, except where it is to differ', () => {
  const book = appointmentBook({ seed: 2, start, appointments: 100, unsent: 10, differing: 10 });
  const past = lastStatuses(book.past());
  const differing = idsOf(book).filter((id) => past.get(id) !== book.records.appointments.get(id)!.status);
  const now: Callback[] = [];
  for (const callback of book.present()) if (now.push(callback) === 300) break;
  const present = lastStatuses(now);
  expect(idsOf(book).length).toBeGreaterThan(150);
  expect([...present.keys()].filter((id) => past.has(id)).length).toBeGreaterThan(20);
  const statuses = new Map([...past, ...present]);
  expect(idsOf(book).filter((id) => statuses.get(id) !== book.records.appointments.get(id)!.status)).toEqual(
    differing,
  );
});

it('sends only the families that are wanted, and has the records of all', () => {
  const book = appointmentBook({ seed: 3, start, appointments: 100, families: ['appointment'] });
  expect(new Set(Array.from(book.past(), ({ family }) => family))).toEqual(new Set(['appointment']));
  expect(book.records.prescriptions.size).toBeGreaterThan(0);
  expect(book.records.payments.size).toBeGreaterThan(0);
});

it('refuses more gaps than it has appointments, and families without appointments', () => {
  const small = { seed: 1, start, appointments: 9 };
  expect(() => appointmentBook({ ...small, unsent: 4, differing: 2, rescheduled: 2 })).toThrow(
    'at least 10 appointments are needed',
  );
  expect(() => appointmentBook({ ...small, families: ['receipt'] })).toThrow('the families lack appointment');
});
