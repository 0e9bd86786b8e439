import { z } from 'zod';

// The substances exist; the makers and products are fictitious.
const makers = ['Nilgiri Remedies', 'Sample Pharma', 'Kaveri Labs'];
const substances: [generic: string, common: string, form: string, overTheCounter: boolean][] = [
  ['Paracetamol 500 mg', 'paracetamol', 'tablet', true],
  ['Paracetamol 650 mg', 'paracetamol', 'tablet', true],
  ['Paracetamol 120 mg/5 ml', 'paracetamol', 'syrup', true],
  ['Ibuprofen 400 mg', 'ibuprofen', 'tablet', false],
  ['Amoxicillin 500 mg', 'amoxicillin', 'capsule', false],
  ['Metformin 500 mg', 'metformin', 'tablet', false],
  ['Cetirizine 10 mg', 'cetirizine', 'tablet', true],
  ['Pantoprazole 40 mg', 'pantoprazole', 'tablet', false],
];
const tests: [name: string, category: string, price: number, preparation: string][] = [
  ['Complete blood count', 'Haematology', 349.5, ''],
  ['Fasting blood glucose', 'Biochemistry', 120, 'Nothing but water for 8 hours'],
  ['Lipid profile', 'Biochemistry', 499.75, 'Nothing but water for 10 hours'],
  ['Thyroid stimulating hormone', 'Hormones', 275, ''],
  ['Urine routine', 'Clinical pathology', 99.5, 'First urine of the day'],
];

const drugs = substances.flatMap(([generic, common, form, isOtc], s) =>
  makers.map((maker, m) => ({
    id: `drug-${s + 1}${m + 1}`,
    name: `${['Nil', 'Sam', 'Kav'][m]}${common} ${form}`,
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
  id: `lab-${i + 1}`,
  name,
  description: `${name}, sample laboratory`,
  category,
  price,
  preparation,
}));

export const searchQuery = z.object({
  q: z.string().min(1),
  limit: z.string().regex(/^\d+$/).transform(Number).pipe(z.int().min(1).max(100)).default(10),
  s_type: z.enum(['drug', 'lab']).default('drug'),
});

/**
 * The search of section 4.4. Which array is filled for which s_type is not shown there; here s_type selects the array,
 * the other one is empty.
 */
export function searchMedicalDatabase(query: z.output<typeof searchQuery>) {
  const wanted = query.q.toLowerCase();
  const has = (...texts: string[]) => texts.some((text) => text.toLowerCase().includes(wanted));
  const drugsFound = drugs.filter((d) => query.s_type === 'drug' && has(d.name, d.generic_name));
  const labTestsFound = labTests.filter((t) => query.s_type === 'lab' && has(t.name, t.category));
  return {
    drugs: drugsFound.slice(0, query.limit).map((d) => ({
      ...d,
      drug_name_match: has(d.name),
      highlighted_fields: { generic_name: d.generic_name.replace(/\w+/, '<em>$&</em>') },
    })),
    lab_tests: labTestsFound.slice(0, query.limit),
  };
}
