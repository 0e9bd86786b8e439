import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { type Appointment, createServiceClient, type ServiceClient } from '../../src/client/index.ts';
import { windowsOf } from '../../src/client/read-appointments.ts';
import { failureOf } from './calls.ts';

interface Booked {
  readonly appointment_id: string;
  readonly day: string;
}

/** The platform's appointments, the newest first, and the queries for them. */
let booked: Booked[];
let queries: Record<string, string>[];
let client: ServiceClient;

const server = createServer((request, response) => {
  const query = Object.fromEntries(new URL(request.url!, 'http://platform').searchParams);
  queries.push(query);
  const { start_date = '', end_date = '9', doctor_id, clinic_id, patient_id, page_no } = query;
  const size = patient_id ? 20 : doctor_id || clinic_id ? 50 : 30;
  const found = booked.filter(({ day }) => day >= start_date && day <= end_date);
  const start = Number(page_no) * size;
  response.end(JSON.stringify({ appointments: found.slice(start, start + size) }));
});

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  client = createServiceClient({ baseUrl: `http://127.0.0.1:${port}`, token: 'token' });
});
beforeEach(() => {
  booked = [];
  queries = [];
});
afterAll(async () => {
  await client.close();
  server.close();
});

const book = (count: number, day: string, prefix = day): void => {
  booked = [
    ...Array.from({ length: count }, (_, number) => ({ appointment_id: `${prefix}-${number}`, day })),
    ...booked,
  ];
};

async function idsOf(appointments: AsyncIterable<Appointment>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { appointment_id } of appointments) ids.push(appointment_id);
  return ids;
}

const dayMs = 24 * 3_600_000;
const toDay = (number: number) => new Date(number * dayMs).toISOString().slice(0, 10);

/** Days between 1970 and 2100. */
const dayNumber = fc.integer({ min: 0, max: 47_481 });

it('cuts any range into windows of at most 7 days, which contain each of its days once', () => {
  fc.assert(
    fc.property(dayNumber, fc.integer({ min: 0, max: 800 }), (from, length) => {
      const windows = [...windowsOf({ from: toDay(from), to: toDay(from + length) })];
      const days = windows.flatMap(({ startDate, endDate }) => {
        const start = Date.parse(startDate) / dayMs;
        const count = Date.parse(endDate) / dayMs - start + 1;
        expect(count).toBeLessThanOrEqual(7);
        return Array.from({ length: count }, (_, index) => start + index);
      });
      expect(days).toEqual(Array.from({ length: length + 1 }, (_, index) => from + index));
    }),
  );
});

it.each([
  [{ from: '2026-08-01', to: '2026-08-01' }, 30],
  [{ from: '2026-08-01', to: '2026-08-01', clinicId: 'c' }, 50],
  [{ from: '2026-08-01', to: '2026-08-01', doctorId: 'd' }, 50],
  [{ patientId: 'p' }, 20],
] as const)(
  'reads on after a full page, and ends with a shorter one: %j in pages of %i',
  async (query, size) => {
    for (const [count, pages] of [
      [0, 1],
      [size - 1, 1],
      [size, 2],
      [size + 1, 2],
      [2 * size, 3],
    ] as const) {
      booked = [];
      queries = [];
      book(count, '2026-08-01');
      expect(await idsOf(client.appointments(query))).toEqual(booked.map((each) => each.appointment_id));
      expect(queries.map(({ page_no }) => Number(page_no))).toEqual(
        Array.from({ length: pages }, (_, n) => n),
      );
    }
  },
);

it('asks for the days of each window, the doctor and the clinic, and for nothing that is not given', async () => {
  await idsOf(client.appointments({ from: '2026-07-30', to: '2026-08-07', doctorId: 'd', clinicId: 'c' }));
  await idsOf(client.appointments({ patientId: 'p' }));
  expect(queries).toEqual([
    { start_date: '2026-07-30', end_date: '2026-08-05', doctor_id: 'd', clinic_id: 'c', page_no: '0' },
    { start_date: '2026-08-06', end_date: '2026-08-07', doctor_id: 'd', clinic_id: 'c', page_no: '0' },
    { patient_id: 'p', page_no: '0' },
  ]);
});

it('yields each appointment that exists throughout, however many are booked between its pages', async () => {
  const bookings = fc.array(fc.record({ after: fc.nat(150), count: fc.integer({ min: 1, max: 40 }) }), {
    maxLength: 5,
  });
  await fc.assert(
    fc.asyncProperty(fc.nat(120), bookings, async (count, bookings) => {
      booked = [];
      book(count, '2026-08-03');
      const throughout = booked.map(({ appointment_id }) => appointment_id);
      const read = new Set<string>();
      let taken = 0;
      for await (const { appointment_id } of client.appointments({ from: '2026-08-01', to: '2026-08-20' })) {
        read.add(appointment_id);
        taken++;
        const due = bookings.filter(({ after }) => after === taken);
        for (const [index, { count }] of due.entries()) book(count, '2026-08-02', `new-${taken}-${index}`);
      }
      expect(throughout.filter((id) => !read.has(id))).toEqual([]);
    }),
    { numRuns: 50 },
  );
});

it('reads no page before the appointments of the former one are taken', async () => {
  book(31, '2026-08-01');
  for await (const _ of client.appointments({ from: '2026-08-01', to: '2026-12-31' })) break;
  expect(queries).toHaveLength(1);
});

it.each([
  [{ from: '2026-08-02', to: '2026-08-01' }, 'to'],
  [{ from: '2026-02-30', to: '2026-03-01' }, 'from'],
  [{ from: '1.8.2026', to: '2026-08-01' }, 'from'],
  [{}, 'from'],
])('refuses the days %j, and asks for nothing', async (query, path) => {
  const read = idsOf(client.appointments(query as { from: string; to: string }));
  expect(await failureOf(read)).toMatchObject({
    name: 'RefusedInput',
    issues: expect.arrayContaining([expect.objectContaining({ path })]),
  });
  expect(queries).toEqual([]);
});

it.each([
  [{ startDate: '2026-08-01', endDate: '2026-08-09' }, 'end_date'],
  [{ startDate: '2026-08-02', endDate: '2026-08-01' }, 'end_date'],
  [{ startDate: '2026-08-02' }, 'end_date'],
  [{ startDate: '2026-08-02', endDate: '2026-08-02', patientId: 'p' }, 'patient_id'],
  [{}, 'start_date'],
])('refuses a page of %j', async (query, path) => {
  const read = client.appointmentsPage({ ...query, pageNo: 0 } as never);
  expect(await failureOf(read)).toMatchObject({ name: 'RefusedInput', issues: [{ path }] });
});
