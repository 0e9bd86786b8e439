import { type Response, Router } from 'express';
import { z } from 'zod';
import type { Fields, Records } from './records.ts';

/** Days are those of India, as the opening hours of the clinics. */
const offset = 5.5 * 3_600;
const secondsPerDay = 24 * 3_600;
const startOf = (day: string) => Date.parse(day) / 1000 - offset;

const pageNumber = z.coerce.number().int().min(0).default(0);
const days = z.object({ start_date: z.iso.date(), end_date: z.iso.date(), page_no: pageNumber });
const appointmentsQuery = z.union([
  z.strictObject({ patient_id: z.string().min(1), page_no: pageNumber }),
  z
    .strictObject({ ...days.shape, doctor_id: z.string().optional(), clinic_id: z.string().optional() })
    .refine(({ start_date, end_date }) => {
      const apart = (startOf(end_date) - startOf(start_date)) / secondsPerDay;
      return apart >= 0 && apart <= 7;
    }),
]);
const patientsQuery = z.object({
  pageNo: pageNumber,
  pageSize: z.coerce.number().int().min(1).max(2_000).default(500),
  from: z.coerce.number().optional(),
});

/** The operations that read records. Their errors have all three of the documented shapes. */
export function reading(records: Records): Router {
  const router = Router();

  router.get('/dr/v1/appointment', ({ query }, response) => {
    const { success, data } = appointmentsQuery.safeParse(query);
    if (!success)
      return void response.status(400).json({ error: { code: 'INVALID_REQUEST', message: 'query' } });
    const { matches, size } = selection(data);
    // The newest first, so that a booking moves all others to later places.
    const found = [...records.appointments.values()].reverse().filter(matches);
    const page = found.slice(data.page_no * size, (data.page_no + 1) * size);
    response.json({ appointments: page.map(inList) });
  });

  router.get('/dr/v1/appointment/:id', ({ params: { id }, query }, response) => {
    const isPartnerId = query.partner_id === '1';
    const found = isPartnerId
      ? [...records.appointments.values()].find((each) => each.partner_appointment_id === id)
      : records.appointments.get(id);
    respond(response, found && { service: 'Consultation', ...found });
  });

  router.get('/dr/v1/prescription/:id', ({ params: { id } }, response) => {
    const found = records.prescriptions.get(id);
    const { doctor_id, patient_id } = found ?? {};
    const document = { doctor: { id: doctor_id }, patient: { id: patient_id }, medications: [], tests: [] };
    respond(response, found && { ...found, ...document });
  });

  router.get('/dr/v1/payment/transaction_status/:id', ({ params: { id } }, response) => {
    const found = records.payments.get(id);
    if (found) return void response.json(found);
    response.status(404).json({ code: 'TRANSACTION_ID_NOT_FOUND', message: 'no such transaction' });
  });

  router.get('/appointments/v1/ipd/admission/:id', ({ params: { id } }, response) =>
    respond(response, records.admissions.get(id)),
  );

  router.get('/dr/v1/business/entities', (_, response) => {
    const doctors = [...new Set(Array.from(records.clinics.values(), (ids) => [...ids]).flat())];
    const data = {
      clinics: Array.from(records.clinics, ([clinic_id, ids], index) => ({
        clinic_id,
        name: `Sample Clinic ${index + 1}`,
        doctors: [...ids],
      })),
      doctors: doctors.map((doctor_id, index) => ({ doctor_id, name: `Dr Sample ${index + 1}`, pic: '' })),
      business: { business_id: records.businessId ?? '', name: 'Sample Practice' },
    };
    response.json({ data });
  });

  router.get('/profiles/v1/patient/minified', (request, response) => {
    const { success, data } = patientsQuery.safeParse(request.query);
    if (!success) return void response.status(400).json({ message: 'the query is invalid' });
    if (!request.get('client-id'))
      return void response.status(400).json({ message: 'client-id is required' });
    const { pageNo, pageSize, from } = data;
    const found = [...records.patients.values()].filter(
      ({ created_at }) => from === undefined || Number(created_at) > from,
    );
    const profiles = found.slice(pageNo * pageSize, (pageNo + 1) * pageSize);
    response.json({ profiles, nextPage: (pageNo + 1) * pageSize < found.length ? pageNo + 1 : -1 });
  });

  return router;
}

/** Which appointments a query is about, and how many make a page. */
function selection(query: z.output<typeof appointmentsQuery>) {
  if ('patient_id' in query) {
    return { matches: ({ patient_id }: Fields) => patient_id === query.patient_id, size: 20 };
  }
  const { doctor_id, clinic_id } = query;
  const from = startOf(query.start_date);
  const to = startOf(query.end_date) + secondsPerDay;
  return {
    matches: (each: Fields) =>
      Number(each.start_time) >= from &&
      Number(each.start_time) < to &&
      (doctor_id === undefined || each.doctor_id === doctor_id) &&
      (clinic_id === undefined || each.clinic_id === clinic_id),
    size: doctor_id === undefined && clinic_id === undefined ? 30 : 50,
  };
}

/** A list lacks some fields of the record. */
const inList = ({ payment, prev_aids, next_aid, ...fields }: Fields) => fields;

function respond(response: Response, record: Fields | undefined): void {
  if (record) response.json(record);
  else response.status(404).json({ message: 'no such record' });
}
