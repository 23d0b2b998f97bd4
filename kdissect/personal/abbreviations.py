"""Abbreviations of words in names of fields: `dirPostal`, `NRO_DOC`, `brth_dt`."""

from __future__ import annotations

from itertools import product

# Words of all languages, as `words_of` returns them, each with its short forms.
_SHORT = """
account=acct,acc address=addr,adr birth=brth,bth card=crd customer=cust,cstmr date=dt,dte first=frst,fst
last=lst middle=mid,mdl mobile=mob,mbl name=nm number=num,no,nr,nbr phone=ph,phn security=sec social=soc
street=str,strt identity=ident
apellido=ap,ape,apell apellidos=ap,apell celular=cel cliente=cli codigo=cod correo=corr cuenta=cta
direccion=dir,direc documento=doc,docto domicilio=dom,domic fecha=fec,fch identidad=ident,id materno=mat
nacimiento=nac,nacim nombre=nom,nomb nombres=nom numero=num,nro,no,nr paterno=pat tarjeta=tarj
telefono=tel,tlf,telf
cellulare=cell codice=cod cognome=cogn data=dt fiscale=fisc indirizzo=ind,indir nascita=nasc
residenza=resid spedizione=sped
cartao=cart endereco=ender nascimento=nasc telefone=tel,fone telemovel=tlm contribuinte=contrib
carte=cb adresse=adr livraison=livr naissance=naiss,nais portable=port prenom=pren telephone=tel
securite=sec sociale=soc
adressen=adr datum=dat,dt geburts=geb karten=kart konto=kto kunden=kd nummer=nr,num strasse=str
telefon=tel,tlf
versicherungs=vers
adres=adr numer=nr,num telefonu=tel urodzenia=ur,urodz zamieszkania=zam,zamieszk rachunku=rach karty=kart
adresa=adr broj=br rodenja=rod telefona=tel kartice=kart racuna=rac
cislo=cis narozeni=nar,naroz narodenia=nar,narod prijmeni=prijm priezvisko=priezv karty=kart
naslov=nasl rojstva=roj stevilka=st,stev numar=nr,num nasterii=nast telefonului=tel
szam=sz szuletesi=szul telefonszam=telsz henkilo=hlo,henk puhelin=puh syntyma=synt numeron=nro osoite=os
asiakkaan=as numurs=nr talrunis=talr dzimsanas=dzim,dz adrese=adr numeris=nr telefonas=tel gimimo=gim
asmens=asm telefoni=tel fodsels=fods fodelse=fod personlig=pers
adresi=adr dogum=dog numarasi=no,num tarihi=tar,trh musteri=must kredi=kr
alamat=alm,almt lahir=lhr nama=nm nomor=no,nmr,nr pelanggan=plg rekening=rek tanggal=tgl telepon=telp,tlp
kenalan=knl nombor=no
"""
_MOST = 16  # variants of one phrase


def _forms() -> dict[str, tuple[str, ...]]:
    made: dict[str, tuple[str, ...]] = {}
    for entry in _SHORT.split():
        word, _, short = entry.partition("=")
        made[word] = (*made.get(word, (word,)), *short.split(","))
    return made


_FORMS = _forms()


def with_abbreviations(phrase: str) -> set[str]:
    """Return a phrase of several words with their short forms, too. A single word stays: `dir` is a
    directory.
    """
    words = phrase.split()
    if len(words) == 1 or any(len(word) == 1 for word in words):
        return {phrase}
    made = product(*(_FORMS.get(word, (word,)) for word in words))
    return {phrase, *(" ".join(one) for one, _ in zip(made, range(_MOST), strict=False))}
