import type { RequestHandler } from 'express';
import helmet from 'helmet';

const none = ["'none'"];
const self = ["'self'"];

const common = {
  defaultSrc: none,
  scriptSrc: self,
  styleSrc: self,
  imgSrc: self,
  formAction: self,
  frameAncestors: none,
  baseUri: none,
};

const headers = (directives: Record<string, string[]>): RequestHandler => {
  const set = helmet({
    contentSecurityPolicy: { useDefaults: false, directives },
    // Whether all of a host speaks TLS is for its proxy to say.
    strictTransportSecurity: false,
    // Nothing is told to other sites; to ourselves, the origin shows that a form is our own.
    referrerPolicy: { policy: 'same-origin' },
  });
  return (req, res, next) => {
    res.setHeader('Cache-Control', 'no-store');
    set(req, res, next);
  };
};

/** For every page: nothing but our own files, no script or style within a page. */
export const pageHeaders = headers(common);

/** For the queue's board, a program of its own: it styles its elements in place and asks for its data. */
export const boardHeaders = headers({
  ...common,
  styleSrc: ["'self'", "'unsafe-inline'"],
  imgSrc: ["'self'", 'data:'],
  fontSrc: self,
  connectSrc: self,
  baseUri: self,
});
