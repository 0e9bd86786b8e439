import type { Request, Response } from 'express';
import type { Config } from '../../common/config/config.ts';
import { Field, Submit } from '../ui/forms.tsx';
import { hrefTo } from '../ui/links.ts';
import { sendBarePage } from '../ui/send-page.tsx';
import { ownPath } from './origin.ts';
import type { Provider } from './provider.ts';

/** Sends the ways to sign in. They lead to the requested page. */
export function sendSignIn(
  { config, provider }: { config: Config; provider: Provider | undefined },
  req: Request,
  res: Response,
  status: number,
  fault?: string,
): void {
  const next = ownPath(req.method === 'GET' ? req.originalUrl : req.body?.next);
  const content = (
    <>
      {provider && (
        // A link, since the policy for forms forbids redirects to another site.
        <p class="actions">
          <a class="button" href={hrefTo('/sign-in/start', { next })}>
            Sign in with your account
          </a>
        </p>
      )}
      {config.adminToken && (
        <form method="post" action="/console/sign-in" class="card">
          <input type="hidden" name="next" value={next} />
          <Field
            label="Admin token"
            name="token"
            type="password"
            autocomplete="current-password"
            required
            fault={fault}
          />
          <Submit kind={provider && 'second'}>Sign in</Submit>
          <p class="hint">
            The value of <code>ADMIN_TOKEN</code>. If it is not set, the embedded database has a generated
            token: see the file <code>admin-token</code> in <code>DATA_DIR</code>.
          </p>
        </form>
      )}
    </>
  );
  sendBarePage(res, status, 'Sign in', content);
}

export function sendRefusal(res: Response, status: number, text: string): void {
  const content = (
    <>
      <p>{text}</p>
      <p>
        <a href="/console">Back to the sign-in</a>
      </p>
    </>
  );
  sendBarePage(res, status, 'Not signed in', content);
}

/** Sends a page that leads to another: a redirect would not do, see where it is used. */
export function sendForward(res: Response, title: string, address: string): void {
  const content = (
    <p>
      <a href={address}>Continue</a>
    </p>
  );
  sendBarePage(res, 200, title, content, <meta http-equiv="refresh" content={`0; url=${address}`} />);
}
