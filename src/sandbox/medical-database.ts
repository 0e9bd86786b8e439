import { z } from 'zod';

// The substances exist; the makers and products are fictitious.
const makers = ['Nilgiri Remedies', 'Sample Pharma', 'Kaveri Labs'];
const substances: [generic: string, common: string, form: string, overTheCounter: boolean][] = [
  ['Paracetamol 500 mg', 'paracetamol', 'tablet', true],
  ['Ibuprofen 400 mg', 'ibuprofen', 'tablet', false],
  ['Amoxicillin 500 mg', 'amoxicillin', 'capsule', false],
  ['Cetirizine 10 mg', 'cetirizine', 'syrup', true],
];
const tests: [name: string, category: string, price: number, preparation: string][] = [
  ['Complete blood count', 'Haematology', 349.5, ''],
  ['Fasting blood glucose', 'Biochemistry', 120, 'Nothing but water for 8 hours'],
  ['Lipid profile', 'Biochemistry', 499.75, 'Nothing but water for 10 hours'],
];

const drugs = substances.flatMap(([generic, common, form, isOtc], s) =>
  makers.map((maker, m) => ({
    id: `drug-${s + 1}${m + 1}`,
    name: `${maker.slice(0, 3)}${common} ${form}`,
    manufacturer_name: maker,
    product_type: form,
    generic_name: generic,
    generic_id: `gen-${s + 1}`,
    common_name: common,
    soa: m === 0,
    product_sku: `SKU${s + 1}${m + 1}`,
    action_class: { name: isOtc ? 'over the counter' : 'prescription' },
    include_suggestion: m !== 1,
    is_otc: isOtc,
  })),
);

const labTests = tests.map(([name, category, price, preparation], i) => ({
  ...{ id: `lab-${i + 1}`, name, description: `${name}, sample laboratory` },
  ...{ category, price, preparation },
}));

export const searchQuery = z.object({
  q: z.string().min(1),
  limit: z.string().regex(/^\d+$/).transform(Number).pipe(z.int().min(1).max(100)).default(10),
  s_type: z.enum(['drug', 'lab']).default('drug'),
});

/** The search of section 4.4. Which array s_type fills is not shown there; here it is the one of its kind. */
export function searchMedicalDatabase({ q, limit, s_type }: z.output<typeof searchQuery>) {
  const has = (...texts: string[]) => texts.some((text) => text.toLowerCase().includes(q.toLowerCase()));
  const found = s_type === 'drug' ? drugs.filter((d) => has(d.name, d.generic_name)) : [];
  return {
    drugs: found.slice(0, limit).map((d) => ({
      ...{ ...d, drug_name_match: has(d.name) },
      highlighted_fields: { generic_name: d.generic_name.replace(/\w+/, '<em>$&</em>') },
    })),
    lab_tests: s_type === 'lab' ? labTests.filter((t) => has(t.name, t.category)).slice(0, limit) : [],
  };
}
