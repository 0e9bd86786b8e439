import { EntryForm } from './forms.tsx';

/** A form that saves a page's address for the user, under a name. */
export function SaveView({ address }: { address: string }) {
  return (
    <details>
      <summary>Save this page</summary>
      <EntryForm
        action="/console/saved-views"
        values={{ address }}
        fields={[{ name: 'name', label: 'Name', required: true, autocomplete: 'off' }]}
        submit="Save"
        kind="second"
      />
    </details>
  );
}
