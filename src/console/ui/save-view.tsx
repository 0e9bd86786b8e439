import { Field, PostForm, Submit } from './forms.tsx';

/** A form that saves a page's address for the user, under a name. */
export function SaveView({ address }: { address: string }) {
  return (
    <details>
      <summary>Save this page</summary>
      <PostForm action="/console/saved-views" values={{ address }} class="card">
        <div class="fields">
          <Field label="Name" name="name" required autocomplete="off" />
        </div>
        <div class="actions">
          <Submit kind="second">Save</Submit>
        </div>
      </PostForm>
    </details>
  );
}
