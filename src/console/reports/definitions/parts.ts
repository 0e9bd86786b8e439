export const newestFirst = (time: string, key: string) => ({
  order: `${time} desc, business_id, ${key}`,
  newestDayFirst: true,
});
export const byBusiness = (time: string, key: string) => ({
  ...newestFirst(time, key),
  leadsWithBusiness: true,
});
export const daily = byBusiness('day', 'clinic_id, doctor_id');
export const byReceipt = byBusiness('issued_at', 'receipt_id');
export const activities = ['receipt', 'consent_form', 'review_request', 'payment_request'] as const;

export const versions = (key: string) => byBusiness('received_at', `${key}, version desc`);
