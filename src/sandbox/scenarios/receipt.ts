import { appointmentId, type Clinic, newPatient, pdfUrl, type Visit } from '../clinic.ts';
import type { Random } from '../random.ts';
import { inRupees, type Scenario, type ScenarioEvent } from './scenario.ts';

/**
 * A receipt (section 2.2): created, paid in full, in parts or not, sometimes deleted, rarely restored. For a visit,
 * the patient is often asked to pay what is due.
 */
export function* receiptScenario(random: Random, clinic: Clinic, createdAt: number, visit?: Visit): Scenario {
  const patient = visit?.patient ?? newPatient(random);
  const amount = random.between(5_000, 500_000);
  const skuDiscount = random.chance(0.2) ? random.between(1, 2_000) : 0;
  const discount = random.chance(0.3) ? random.between(1, 3_000) : 0;
  const net = amount - skuDiscount - discount;
  let paid = random.chance(0.5) ? net : 0;
  const receipt: Record<string, unknown> = {
    receipt_id: clinic.nextReceipt++,
    aid: visit?.appointmentId ?? appointmentId(random),
    doctor_oid: visit?.doctor ?? random.pick(clinic.doctors),
    clinic_id: clinic.clinicId,
    patient_oid: patient.oid,
    created_at: createdAt,
    updated_at: createdAt,
    receipt_number: random.chance(0.2) ? `R-${random.between(1, 9999)}` : null,
    receipt_url: pdfUrl(random, 'receipts'),
    receipt_status: 'SUCCESS',
    receipt_amount: inRupees(amount),
    additional_discount_value: inRupees(discount),
    additional_discount_type: 'AMOUNT',
    additional_discount_amount: inRupees(discount),
    net_amount: inRupees(net),
    name: patient.name,
    mobile: patient.mobile,
    flavour: random.chance(0.1) ? 'standard' : null,
    sku_discount_amount: inRupees(skuDiscount),
    amount_due: inRupees(net - paid),
    archive: 0,
    remarks: random.pick(['', '', '', 'Paid at the desk', 'अगली बार शेष']),
    ref_trx_id: '',
    payment_id: null,
    payment_link: null,
    amount_paid: paid === 0 && random.chance(0.3) ? null : inRupees(paid),
    actor: 'doctor',
    // Real receipts have undocumented fields too.
    ...(random.chance(0.3) ? { invoice_series: random.pick(['A', 'B']) } : {}),
  };
  const version = (event: string, changes: object): ScenarioEvent => {
    Object.assign(receipt, changes);
    return { event, data: { ...receipt } };
  };
  let now = yield version('receipt.created', {});

  if (visit && paid < net && random.chance(0.7)) now = yield paymentRequest(random, visit, net - paid);
  while (paid < net && random.chance(0.8)) {
    paid = random.chance(0.5) ? net : paid + random.between(1, net - paid);
    const reference = random.text(12, 'ABCDEFGHJKMNPQRSTUVWXYZ23456789');
    now = yield version('receipt.updated', {
      updated_at: now,
      amount_paid: inRupees(paid),
      amount_due: inRupees(net - paid),
      payment_id: `pay_${reference}`,
      payment_link: `https://pay.example/${reference}`,
      ref_trx_id: random.chance(0.5) ? `trx_${reference}` : '',
    });
  }
  if (random.chance(0.3)) {
    const remarks = `Corrected ${random.between(1, 99)}`;
    now = yield version('receipt.updated', { updated_at: now, remarks });
  }
  if (!random.chance(0.15)) return;
  now = yield version('receipt.deleted', { updated_at: now, archive: 1 });
  if (!random.chance(0.1)) return;
  yield version('receipt.updated', { updated_at: now, archive: 0, remarks: 'Restored' });
}

export function paymentRequest(random: Random, visit: Visit, due: number): ScenarioEvent {
  const page = random.text(20, 'abcdefghijkmnpqrstuvwxyz0123456789');
  return {
    event: 'receipt_payment.requested',
    data: {
      appointment_id: visit.appointmentId,
      doctor_id: visit.doctor,
      patient_id: visit.patient.oid,
      net_amount: inRupees(due),
      url: `https://pay.example/checkout/${page}`,
    },
  };
}
