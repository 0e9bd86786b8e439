-- The words by which the people of admissions and bookings are found, as those of receipts: see receipt_terms_of. Of texts,
-- person_name has the same result each time.
create function person_terms_of(person jsonb) returns tsvector
  language sql immutable parallel safe
  return receipt_terms_of(person_name(person->'name'), person->>'phone', null);
comment on function person_terms_of is 'What a person, {name, phone}, is found by: n and each word of the name, p and the phone_end';
