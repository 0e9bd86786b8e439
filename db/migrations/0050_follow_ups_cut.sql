-- What the platform was asked about payments and prescriptions is not kept any more, nor where an interrupted pass continues.

drop view if exists reporting.payments_daily, reporting.payments, receipt_payments;
drop trigger forget_payments on receipts;
drop trigger forget_payments_truncated on receipts;
drop function forget_payments();

create or replace function forget_reconciled() returns trigger language plpgsql set search_path from current as $$
begin
  if tg_op = 'TRUNCATE' then
    truncate reconciled_deliveries;
    return null;
  end if;
  delete from reconciled_deliveries r using deleted d where r.id = d.id;
  return null;
end
$$;

drop table payments, named_prescriptions, reconciliation_pages;
comment on table reconciliations is 'Passes of the reconciliation: each begins anew';
comment on column reconciliations.attempted_at is 'When it was begun';
