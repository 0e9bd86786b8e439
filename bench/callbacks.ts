/** Columns of a receipt (service-interface.md, section 2.2) with the types of the table that the plain handlers fill. */
export const receiptColumns = {
  business_id: 'text',
  receipt_id: 'bigint',
  aid: 'text',
  doctor_oid: 'text',
  clinic_id: 'text',
  patient_oid: 'text',
  created_at: 'bigint',
  updated_at: 'bigint',
  receipt_number: 'text',
  receipt_url: 'text',
  receipt_status: 'text',
  receipt_amount: 'numeric',
  additional_discount_value: 'numeric',
  additional_discount_type: 'text',
  additional_discount_amount: 'numeric',
  net_amount: 'numeric',
  name: 'text',
  mobile: 'text',
  flavour: 'text',
  sku_discount_amount: 'numeric',
  amount_due: 'numeric',
  archive: 'integer',
  remarks: 'text',
  ref_trx_id: 'text',
  payment_id: 'text',
  payment_link: 'text',
  amount_paid: 'numeric',
  actor: 'text',
} as const;

const firstTime = Date.UTC(2026, 0, 5, 4);
const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');

/**
 * The body of callback `number`, 970 bytes: receipts of ten businesses; every sixth callback updates the receipt of the one
 * five before it. Another `series` has other receipts.
 */
export function receiptCallback(series: number, number: number): string {
  const updates = number % 6 === 5;
  const receipt = series * 1_000_000 + (updates ? number - 5 : number);
  const created = firstTime + receipt * 17;
  const updated = updates ? created + 40_000 : created;
  const business = `64f0${hex(receipt % 10, 20)}`;
  const amount = 200 + (receipt % 700);
  const paid = updates ? amount : 0;
  return JSON.stringify({
    event: updates ? 'receipt.updated' : 'receipt.created',
    event_time: Math.floor(updated / 1000),
    timestamp: Math.floor(updated / 1000) + 1,
    client_id: '64f1a2b3c4d5e6f7a8b9c0d1',
    business_id: business,
    data: {
      receipt_id: receipt,
      aid: `api-${hex(receipt, 8)}-4c2d-4f8e-9a51-6b0c5e7d9f21`,
      doctor_oid: `1612340${hex(receipt % 16, 8)}`,
      clinic_id: `63ea${hex(receipt % 30, 20)}`,
      patient_oid: `17${hex((receipt * 7919) % 100_000_000, 13)}`,
      created_at: created,
      updated_at: updated,
      receipt_number: null,
      receipt_url: `https://files.example.org/receipts/2026/${business}/${hex(receipt, 32)}.pdf`,
      receipt_status: 'SUCCESS',
      receipt_amount: amount,
      additional_discount_value: 10,
      additional_discount_type: 'AMOUNT',
      additional_discount_amount: 10,
      net_amount: amount - 10,
      name: `Asha Rao ${receipt % 997}`,
      mobile: `+9198${String((receipt * 31) % 100_000_000).padStart(8, '0')}`,
      flavour: null,
      sku_discount_amount: 0,
      amount_due: amount - paid,
      archive: 0,
      remarks: '',
      ref_trx_id: '',
      payment_id: `pay_${hex(receipt, 14)}`,
      payment_link: `https://pay.example.org/l/${hex(receipt, 12)}`,
      amount_paid: paid,
      actor: 'doctor',
    },
  });
}
